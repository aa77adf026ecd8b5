#include "submix/accounting/privacy_statement.h"
