"""The files of the timer: the wheel, its log and its checkpoint, as RocketMQ 5.4.0 has them.

They are derived from the queue ``rmq_sys_wheel_timer`` and can be built from it again. Start with
``timer_files.TimerFiles``, which opens all three and judges whether they fit each other.
"""
