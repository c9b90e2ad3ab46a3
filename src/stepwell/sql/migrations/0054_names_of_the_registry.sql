-- Names as the source document has them: a verdict is kept by the id of its transition, thresholds and tokens by their keys.

-- One key may be used for two transitions that lead to the same state: each has its own verdict.
alter table stepwell.transition_idempotency rename column to_state to transition_id;
update stepwell.transition_idempotency set transition_id = coalesce(verdict ->> 'transition_id', transition_id)
where transition_id not like 'rpc:%';

update stepwell.dot_config set config_key = replace(config_key, 'heartbeat.threshold_seconds.', 'heartbeat.threshold.')
where config_key like 'heartbeat.threshold\_seconds.%';
update stepwell.dot_config set config_key = replace(config_key, 'event_lag.threshold_ms.', 'event_lag.threshold.')
where config_key like 'event\_lag.threshold\_ms.%';
update stepwell.dot_config set config_value = config_value - 'shape' || jsonb_build_object('shape_token', config_value -> 'shape')
where config_key like 'ui.traffic\_light.%' and config_value ? 'shape';
