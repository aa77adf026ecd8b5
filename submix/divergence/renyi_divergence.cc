#include "submix/divergence/renyi_divergence.h"
