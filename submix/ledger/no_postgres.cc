// Stands in for postgres_ledger.cc where PostgreSQL is left out (SUBMIX_BUILD_POSTGRES=OFF).
#include "submix/ledger/postgres_ledger.h"

namespace submix::ledger {
namespace {

base::Status LeftOutError() {
  return base::UnimplementedError(
      "this Submix was built without PostgreSQL; build it with -DSUBMIX_BUILD_POSTGRES=ON, or keep "
      "the ledger in a file");
}

}  // namespace

base::Status CreatePostgresLedger(const DurableLedgerOptions&, const LedgerState&, const Record&) {
  return LeftOutError();
}

base::StatusOr<std::unique_ptr<DurableLedger>> OpenPostgresLedger(const DurableLedgerOptions&) {
  return LeftOutError();
}

base::StatusOr<std::unique_ptr<DurableLedger>> OpenPostgresLedgerReadOnly(
    const DurableLedgerOptions&) {
  return LeftOutError();
}

base::StatusOr<LedgerContents> ReadPostgresLedgerWithoutAnchor(const DurableLedgerOptions&) {
  return LeftOutError();
}

base::Status CopyIntoPostgres(const std::string&, const LedgerState&,
                              const std::function<base::Status(const RecordVisitor&)>&) {
  return LeftOutError();
}

}  // namespace submix::ledger
