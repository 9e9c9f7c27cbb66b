"""What both pages show."""
