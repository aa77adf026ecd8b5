// Stands in for postgres_ledger.cc where PostgreSQL is left out (SUBMIX_BUILD_POSTGRES=OFF).
#include "submix/ledger/ledger_store.h"

namespace submix::ledger {
namespace {

base::Status LeftOutError() {
  return base::UnimplementedError(
      "this Submix was built without PostgreSQL; build it with -DSUBMIX_BUILD_POSTGRES=ON, or keep "
      "the ledger in a file");
}

base::StatusOr<std::unique_ptr<DurableLedger>> CannotOpen(const DurableLedgerOptions&) {
  return LeftOutError();
}

}  // namespace

const LedgerStore& PostgresStore() {
  static constexpr LedgerStore kStore{
      [](const DurableLedgerOptions&, const LedgerState&, const Record&) { return LeftOutError(); },
      CannotOpen, CannotOpen,
      [](const DurableLedgerOptions&) { return base::StatusOr<LedgerContents>(LeftOutError()); }};
  return kStore;
}

base::Status CopyIntoPostgres(const std::string&, const LedgerState&,
                              const std::function<base::Status(const RecordVisitor&)>&) {
  return LeftOutError();
}

}  // namespace submix::ledger
