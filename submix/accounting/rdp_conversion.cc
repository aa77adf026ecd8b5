#include "submix/accounting/rdp_conversion.h"
