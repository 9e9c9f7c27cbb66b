"""Recordings as files that other programs read: tables, meshes for ParaView, animated scenes."""
