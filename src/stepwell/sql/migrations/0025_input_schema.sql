-- What the input of a run must be, as a JSON Schema: stored with the version, checked when a run starts.
alter table stepwell.workflow_version add column input_schema jsonb;
alter table stepwell.workflow_version add constraint input_schema_is_an_object
    check (input_schema is null or jsonb_typeof(input_schema) = 'object');
