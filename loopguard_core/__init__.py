"""loopguard's framework-neutral core: it decides, the adapters act."""
