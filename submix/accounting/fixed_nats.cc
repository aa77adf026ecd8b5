#include "submix/accounting/fixed_nats.h"
