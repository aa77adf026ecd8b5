#include "submix/accounting/charge_accounts.h"
