"""Timer messages of 5.x, which are delivered at any time, not only after one of 18 delays.

    send      TIMER_DELIVER_MS, TIMER_DELAY_SEC or TIMER_DELAY_MS  -> queue rmq_sys_wheel_timer
    enqueue   that queue  -> a slot of the wheel, a unit of the timer log (``mqserver.store.timer``)
    dequeue   a slot that is due  -> each message under its real topic; a recalled one nowhere

Nothing of it exists before the first timer message: no topic, no queue and no file. Start with
``service.TimerService``; ``timer_messages`` knows the properties, and ``delivered`` finds in the
commit log what was delivered before a crash.
"""
