-- More names of secrets; an installation that has changed the setting keeps its own.
update stepwell.dot_config set config_value = to_jsonb(
    '(password|passwd|passphrase|pwd|secret|token|api[_-]?key|(access|private|secret|signing|encryption|master)[_-]?key'
    '|authorization|auth|credentials?|cookies?|session([_-]?id)?|jwt)$'::text)
where config_key = 'redaction.key_pattern' and config_value = to_jsonb(
    '(password|passwd|secret|token|api[_-]?key|authorization|credentials?|private[_-]?key|cookie)$'::text);
