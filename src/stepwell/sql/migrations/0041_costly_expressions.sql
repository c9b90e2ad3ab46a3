-- An expression above limits.expression_cost is evaluated by a worker, in a transaction of its own. PostgreSQL does not look
-- for interrupts while it compares two lists, so this has a limit too.

insert into stepwell.dot_config (config_key, config_value, description) values
('limits.expression_cost_alone', '10000000', 'Most values that one expression may look at or compare when a worker evaluates it');
