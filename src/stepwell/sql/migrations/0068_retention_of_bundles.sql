-- Bundles that the database stores have a retention, longer than that of the log: they prove what the log no longer has.
create index evidence_file_stored on stepwell.evidence_file (stored_at);

insert into stepwell.dot_config (config_key, config_value, description) values
('retention.evidence_file_days', '3650', 'So long a bundle in the database is kept after it was made');
