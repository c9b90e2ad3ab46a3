-- A list of job workflows with one status reads those alone: the status that was stored last, and those that were active then.
create index job_workflows_by_status on stepwell.job_workflow_detail (tenant_id, status, workflow_id);

-- More names of data.
update stepwell.dot_config set config_value = config_value || '["binary", "data", "payload"]'
where config_key = 'graph.forbidden_keys' and not config_value ?| array['binary', 'data', 'payload'];
