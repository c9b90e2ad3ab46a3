-- More letters have a lower case, and more characters are not accepted in names: names that are not written in ASCII get
-- their key and their skeleton again when the migration ends (_names_settle).
update stepwell.principal set name_key = null, name_skeleton = null
where octet_length(principal_name) <> length(principal_name);
