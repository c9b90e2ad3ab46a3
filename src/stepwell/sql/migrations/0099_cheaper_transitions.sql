-- The core asks whether a request has a problem as a text, and a claim takes arrays out of the queue: other results, so the
-- earlier functions go.
drop function if exists stepwell._transition_problems;
drop function if exists stepwell._ready_take;
