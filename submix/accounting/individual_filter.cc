#include "submix/accounting/individual_filter.h"
