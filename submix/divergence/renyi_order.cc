#include "submix/divergence/renyi_order.h"
