#include "submix/apps/training/process_ranks.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

#ifdef SUBMIX_HAS_MPI
#include <mpi.h>
#endif

namespace submix::apps {
namespace {

#ifdef SUBMIX_HAS_MPI

// MPI counts in int.
constexpr std::size_t kMostNumbers = std::size_t{1} << 28;

// Errors of MPI itself end the run: its default.
class MpiRanks final : public train::Ranks {
 public:
  MpiRanks() {
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void SumToRoot(std::span<std::int64_t> numbers) override {
    while (!numbers.empty()) {
      const auto piece = numbers.first(std::min(numbers.size(), kMostNumbers));
      MPI_Reduce(is_root() ? MPI_IN_PLACE : piece.data(), piece.data(),
                 static_cast<int>(piece.size()), MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
      numbers = numbers.subspan(piece.size());
    }
  }
  void Broadcast(std::span<std::byte> bytes) override {
    while (!bytes.empty()) {
      const auto piece = bytes.first(std::min(bytes.size(), kMostNumbers));
      MPI_Bcast(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, 0, MPI_COMM_WORLD);
      bytes = bytes.subspan(piece.size());
    }
  }
  void Barrier() override { MPI_Barrier(MPI_COMM_WORLD); }

 private:
  int rank_ = 0;
  int size_ = 1;
};

std::unique_ptr<MpiRanks>& JoinedRanks() {
  static std::unique_ptr<MpiRanks> ranks;
  return ranks;
}

#endif

int NumberInEnvironment(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? 0 : std::atoi(text);
}

}  // namespace

int NumStartedRanks() {
  // mpirun says how many there are; srun with PMIx says so in a variable of its own.
  const int of_mpirun = NumberInEnvironment("OMPI_COMM_WORLD_SIZE");
  const int of_srun =
      std::getenv("PMIX_RANK") != nullptr ? NumberInEnvironment("SLURM_STEP_NUM_TASKS") : 0;
  return std::max({1, of_mpirun, of_srun});
}

base::StatusOr<train::Ranks*> JoinRanks() {
  if (NumStartedRanks() == 1) return static_cast<train::Ranks*>(nullptr);
#ifdef SUBMIX_HAS_MPI
  JoinedRanks() = std::make_unique<MpiRanks>();
  return static_cast<train::Ranks*>(JoinedRanks().get());
#else
  return base::UnimplementedError(
      "built without MPI, and started as one of several processes: install libopenmpi-dev and "
      "build again, or start it without mpirun");
#endif
}

int LeaveRanks(int exit_code) {
#ifdef SUBMIX_HAS_MPI
  if (JoinedRanks() != nullptr) {
    std::fflush(nullptr);
    if (exit_code != 0) MPI_Abort(MPI_COMM_WORLD, exit_code);
    MPI_Finalize();
    JoinedRanks().reset();
  }
#endif
  return exit_code;
}

}  // namespace submix::apps
