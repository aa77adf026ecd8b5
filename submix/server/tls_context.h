// What a listener presents to clients of TLS: OpenSSL's context from two PEM files.
#pragma once

#include <cstdint>
#include <string>

#include "submix/base/status.h"

struct ssl_ctx_st;

namespace submix::server {

// TLS 1.2 and newer, with this certificate (its chain behind it in the file) and its key. Errors:
// kNotFound; kInvalidArgument for a file that holds no certificate or no key, for a key under a
// password, and for one that is not the certificate's.
base::Status LoadTlsFiles(ssl_ctx_st& context, const std::string& certificate,
                          const std::string& private_key);

// The end of the certificate's validity, in seconds since 1970, UTC. Errors: as LoadTlsFiles.
base::StatusOr<std::int64_t> CheckTlsFiles(const std::string& certificate,
                                           const std::string& private_key);

}  // namespace submix::server
