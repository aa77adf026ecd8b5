#include "submix/server/operator_server.h"

#include <cstddef>

#include <nlohmann/json.hpp>

#include "submix/base/digest.h"
#include "submix/engine/ledger_view.h"
#include "submix/server/admission.h"
#include "submix/server/metrics.h"
#include "submix/server/openai_response.h"
#include "submix/server/page_files.h"

namespace submix::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kShortestKey = 16;

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

  bool TakesBody(const HttpRequest& /*head*/) const override { return false; }
  std::optional<HttpResponse> Refuse(HttpRequest& head) override {
    if (PageResponse(Page::kOperator, head)) return std::nullopt;
    const std::string authorization = head.header("authorization");
    const auto sent = BearerKey(authorization);
    // Digests are compared, so that the time tells nothing of the key.
    if (!sent.has_value() || base::Sha256(*sent) != key_sha256_) {
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
  HttpResponse Error(int status, const HttpRequest& /*head*/) override {
    return {.status = status,
            .body = ErrorBody({.message = "GET /ledger, /ledger/verify or /metrics."})};
  }
  HttpResponse Handle(const HttpRequest& request) override {
    if (auto page = PageResponse(Page::kOperator, request)) return *std::move(page);
    const bool verifies = request.path == "/ledger/verify";
    if (request.method != "GET") {
      HttpResponse response = Error(405, request);
      response.headers.emplace_back("Allow", "GET");
      return response;
    }
    if (request.path == "/metrics") {
      return {.content_type = std::string(kMetricsType), .body = OperatorMetricsText(counters_)};
    }
    if (!verifies && request.path != "/ledger") return Error(404, request);
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

}  // namespace

base::Status CheckOperatorOptions(const OperatorServerOptions& options) {
  const std::string& host = options.listener.host;
  if (options.listener.unix_socket.empty() && host != "127.0.0.1" && host != "::1" &&
      host != "localhost") {
    return base::InvalidArgumentError(
        "the operator's listener may only be on loopback or a Unix "
        "socket, not on " +
        host);
  }
  if (options.key.size() < kShortestKey) {
    return base::InvalidArgumentError("the operator's key has " +
                                      std::to_string(options.key.size()) +
                                      " bytes: give at least " + std::to_string(kShortestKey));
  }
  return base::OkStatus();
}

base::StatusOr<std::unique_ptr<OperatorServer>> OperatorServer::Start(
    const OperatorServerOptions& options, const engine::Deployment& deployment,
    const engine::Counters& counters) {
  SUBMIX_RETURN_IF_ERROR(CheckOperatorOptions(options));
  std::unique_ptr<OperatorServer> server(
      new OperatorServer(std::make_unique<LedgerHandler>(options.key, deployment, counters)));
  SUBMIX_ASSIGN_OR_RETURN(server->listener_, Listener::Start(options.listener, *server->handler_));
  return server;
}

}  // namespace submix::server
