"""How each stage works, one package a stage; ``models`` and ``latex`` are workshops that stages share."""
