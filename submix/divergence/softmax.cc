#include "submix/divergence/softmax.h"
