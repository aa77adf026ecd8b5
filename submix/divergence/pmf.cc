#include "submix/divergence/pmf.h"
