-- Ended runs that have waited too long for their evidence bundle, and the error of one of them. Counting stops at a limit.
select count(*), max(c.last_error) from (
    select d.last_error from stepwell.evidence_due as d
    inner join stepwell.run_detail as r on d.tenant_id = r.tenant_id and d.run_id = r.run_id
    where r.finished_at < stepwell.now() - make_interval(secs => %(seconds)s)
    limit %(limit)s
) as c;
