"""A Django service that sends from its views; each worker process has one client.

    POST /orders/o-1    sends a message, answers when the broker has stored it

NAMESRV_ADDR=127.0.0.1:9876 gunicorn examples.django_service:application
                                                         (pip install django gunicorn)
"""

import atexit
import os
from functools import cache

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest, JsonResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from mqclient import BlockingClient, ClientError, Message

TOPIC = "ExampleDjango"


@cache
def client() -> BlockingClient:
    """Return the client of this process, which the first request makes.

    A client has a thread and sockets, which a process that gunicorn forks would not have. Its
    methods may be called from all threads.
    """
    made = BlockingClient(os.environ["NAMESRV_ADDR"], group="django")
    atexit.register(made.close)
    return made


@csrf_exempt
@require_POST
def order(request: HttpRequest, order_id: str) -> JsonResponse:
    """Send an order; 503 tells the caller to try again."""
    message = Message(TOPIC, request.body or order_id.encode(), keys=[order_id])
    try:
        sent = client().send(message, sharding_key=order_id)
    except ClientError as error:
        return JsonResponse({"error": str(error)}, status=503)
    return JsonResponse({"status": sent.status, "id": sent.unique_key})


urlpatterns = [path("orders/<str:order_id>", order)]

if not settings.configured:
    # In a project of your own this is settings.py.
    settings.configure(ROOT_URLCONF=__name__, SECRET_KEY="example", ALLOWED_HOSTS=["*"])

application = get_wsgi_application()
