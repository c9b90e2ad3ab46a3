-- The bound of every expression: how many values of a document it may look at.

insert into stepwell.dot_config (config_key, config_value, description) values
('limits.expression_cost', '1000000', 'Most values that one evaluation of an expression may look at or compare');
