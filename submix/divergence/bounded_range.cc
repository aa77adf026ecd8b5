#include "submix/divergence/bounded_range.h"
