-- Results have a limit, as inputs have: a handler that returns too much would return it again, so it is not tried again.

insert into stepwell.failure_class_registry (failure_class, classification, description, exception_names) values
('result_too_large', 'permanent', 'The result is larger than allowed; store it elsewhere and return a reference', '{}');

insert into stepwell.dot_config (config_key, config_value, description) values
('limits.composed_result_bytes', '16777216', 'Largest result of a Map or a sub-workflow, composed of the outputs inside');
