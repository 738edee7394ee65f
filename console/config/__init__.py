"""Settings (config.toml) and the fleet file (fleet.yaml): read strictly, explained well."""
