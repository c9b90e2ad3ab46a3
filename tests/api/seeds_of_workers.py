"""What an agent says about an executor, made from the newest event of a tenant; returns its number."""

from __future__ import annotations

# The tenant, who says it, what is said, and the tenant again.
SAID = """
    select fn_summary_write(%s, %s, 'executor', 'default', 'yellow', %s, null, 1, null,
        array[(select concat_ws(':', 'event', e.run_id, e.event_id) from event_log as e
            where e.tenant_id = %s order by e.event_id desc limit 1)],
        stepwell.now() - interval '1 hour', stepwell.now(), '1', 0.9::real)
"""
