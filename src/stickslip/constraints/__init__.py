"""Who owns rows: contacts, joints, welds, cavities, elements."""
