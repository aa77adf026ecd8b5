#include "submix/accounting/user_level.h"
