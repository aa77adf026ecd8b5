// The predictor for processors, by a thread at the other end of a socket.
#include "submix/base/testing/temporary_directory.h"
#include "submix/decode/cpu_predictor.h"
#include "submix/external/external_predictor.h"
#include "submix/external/testing/logits_server.h"
#include "tests/predictors/tested_predictor.h"

namespace submix {
namespace {

struct Computing {
  std::unique_ptr<ensemble::Predictor> predictor;
  std::unique_ptr<external::LogitsServer> server;
};

}  // namespace

base::StatusOr<std::unique_ptr<ensemble::Predictor>> LoadTestedPredictor(
    const PredictorFiles& files) {
  // To the end of the program: a test's predictor goes first.
  static const base::TemporaryDirectory directory;
  static std::vector<Computing> all;
  decode::CpuPredictorOptions options;
  options.public_directory = files.public_directory;
  options.member_directories = files.member_directories;
  options.precision = decode::Precision::kFloat32;
  options.threads = 2;
  options.rows_at_a_time = files.rows_at_a_time;
  Computing computing;
  SUBMIX_ASSIGN_OR_RETURN(computing.predictor, decode::CpuPredictor::Load(options));
  external::LogitsServer::Options served;
  served.socket = directory.File("logits" + std::to_string(all.size()));
  served.predictor = computing.predictor.get();
  computing.server = std::make_unique<external::LogitsServer>(served);
  external::ExternalPredictorOptions connection;
  connection.socket = served.socket;
  connection.num_members = computing.predictor->num_members();
  connection.vocabulary = computing.predictor->vocab_size();
  connection.digest = served.digest;
  all.push_back(std::move(computing));
  return external::ConnectPredictor(connection);
}

}  // namespace submix
