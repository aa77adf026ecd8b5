#include "submix/divergence/divergence_kernel.h"
