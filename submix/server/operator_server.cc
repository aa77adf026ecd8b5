#include "submix/server/operator_server.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "submix/base/digest.h"
#include "submix/engine/ledger_view.h"
#include "submix/server/metrics.h"
#include "submix/server/openai_response.h"
#include "submix/server/page_files.h"

namespace submix::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kScheme = "Bearer ";

base::StatusOr<Json> LedgerObject(const engine::Deployment& deployment) {
  SUBMIX_ASSIGN_OR_RETURN(const auto accounts, deployment.ledger->Accounts());
  SUBMIX_ASSIGN_OR_RETURN(const auto head, deployment.ledger->head());
  return engine::LedgerView<Json>(deployment, accounts, head);
}

class LedgerHandler final : public HttpHandler {
 public:
  LedgerHandler(const std::string& key, const engine::Deployment& deployment,
                const engine::Counters& counters)
      : key_sha256_(base::Sha256(key)), deployment_(deployment), counters_(counters) {}

  std::vector<std::string> BodyPaths() const override { return {}; }
  std::optional<HttpResponse> Refuse(HttpRequest& head) override {
    if (PageResponse(Page::kOperator, head)) return std::nullopt;
    const std::string authorization = head.header("authorization");
    // Digests are compared, so that the time tells nothing of the key.
    if (!authorization.starts_with(kScheme) ||
        base::Sha256(std::string_view(authorization).substr(kScheme.size())) != key_sha256_) {
      return HttpResponse{
          .status = 401,
          .body = ErrorBody({.message = "Send 'Authorization: Bearer KEY' with the operator's "
                                        "key; API keys do not open this."})};
    }
    head.standing = Standing::kKeyHolder;
    return std::nullopt;
  }
  bool TakesLong(const HttpRequest& request) const override {
    return request.path.starts_with("/ledger");
  }
  HttpResponse Error(int status) override {
    return {.status = status,
            .body = ErrorBody({.message = "GET /ledger, /ledger/verify or /metrics."})};
  }
  HttpResponse Handle(const HttpRequest& request) override {
    if (auto page = PageResponse(Page::kOperator, request)) return *std::move(page);
    const bool verifies = request.path == "/ledger/verify";
    if (request.method != "GET") {
      HttpResponse response = Error(405);
      response.headers.emplace_back("Allow", "GET");
      return response;
    }
    if (request.path == "/metrics") {
      return {.content_type = std::string(kMetricsType), .body = OperatorMetricsText(counters_)};
    }
    if (!verifies && request.path != "/ledger") return Error(404);
    auto object = LedgerObject(deployment_);
    if (!object.ok()) {
      return {.status = 500, .body = ErrorBody({.message = object.status().message()})};
    }
    if (verifies) {
      const base::Status chain = deployment_.ledger->Verify();
      (*object)["chain"] = chain.ok() ? "whole" : chain.message();
    }
    return {.body = object->dump() + "\n"};
  }

 private:
  const base::Sha256Digest key_sha256_;
  const engine::Deployment& deployment_;
  const engine::Counters& counters_;
};

class ListeningOperatorServer final : public OperatorServer {
 public:
  ListeningOperatorServer(const OperatorServerOptions& options,
                          const engine::Deployment& deployment, const engine::Counters& counters)
      : handler_(options.key, deployment, counters) {}
  base::Status Start(const ListenerOptions& options) {
    SUBMIX_ASSIGN_OR_RETURN(listener_, Listener::Start(options, handler_));
    return base::OkStatus();
  }
  int port() const override { return listener_->port(); }

 private:
  LedgerHandler handler_;
  std::unique_ptr<Listener> listener_;  // last: its threads use the handler
};

}  // namespace

base::StatusOr<std::unique_ptr<OperatorServer>> OperatorServer::Start(
    const OperatorServerOptions& options, const engine::Deployment& deployment,
    const engine::Counters& counters) {
  SUBMIX_RETURN_IF_ERROR(CheckOperatorOptions(options));
  auto server = std::make_unique<ListeningOperatorServer>(options, deployment, counters);
  SUBMIX_RETURN_IF_ERROR(server->Start(options.listener));
  return std::unique_ptr<OperatorServer>(std::move(server));
}

}  // namespace submix::server
