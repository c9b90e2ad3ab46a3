-- A value must be readable for every worker: a parser of JSON has a limit for the digits of a number, and a short number such
-- as 1e100000 becomes long when it is sent.

insert into stepwell.dot_config (config_key, config_value, description) values
('limits.number_digits', '1000', 'Most digits of one number in an input, output or event payload');
