#!/usr/bin/env python3
"""`submix serve` is killed with -9 at random moments under load, and started again. Every token that
a client has seen has its record, no budget is exceeded, and the server always starts again.

    kill_test.py BUILD_DIR SOURCE_DIR

SUBMIX_KILLS is how often, 10 without; the seed of the moments is printed, SUBMIX_SEED repeats it.
"""

import os
import random
import time

from streaming_clients import Clients, FaultTest, main
from submix_process import make_deployment, make_key

CLIENTS = 16


class KillTest(FaultTest):
    def test_no_token_without_a_record_however_often_it_is_killed(self):
        kills = int(os.environ.get("SUBMIX_KILLS", 10))
        seed = int(os.environ.get("SUBMIX_SEED", time.time_ns() % 1_000_000))
        print(f"SUBMIX_SEED={seed}", flush=True)
        moments = random.Random(seed)
        deployment = make_deployment(self.work)
        key = make_key(deployment, "test")
        server = self.serve(deployment)
        clients = Clients(CLIENTS, lambda _: server.address, key)
        try:
            for kill in range(kills):
                seen = clients.tokens
                self.eventually(lambda: clients.tokens > seen, f"start {kill + 1} answers")
                time.sleep(moments.uniform(0, 0.5))
                server.kill()
                server = self.serve(deployment)
        finally:
            clients.stop()
        server.stop()
        self.assertEqual([error for error in clients.errors() if error["type"] != "server_error"], [])
        self.assertGreater(len([answer for answer in clients.answers if not answer.is_whole]), kills)
        print(f"{clients.tokens} tokens seen, killed {kills} times", flush=True)
        self.assert_sound(deployment, clients.tokens)


if __name__ == "__main__":
    main()
