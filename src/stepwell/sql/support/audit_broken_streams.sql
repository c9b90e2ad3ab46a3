-- Stream and block of the entries whose block before is not the one that they name.
select x.run_id, x.block_no
from (
    select s.run_id, s.block_no, s.previous_block_no,
        lag(s.block_no) over (partition by s.run_id order by s.block_no) as before
    from stepwell.audit_block_stream as s
    where s.tenant_id = %(tenant_id)s
) as x
where x.previous_block_no <> x.before
order by x.block_no, x.run_id
limit %(limit)s
