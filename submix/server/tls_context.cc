#include "submix/server/tls_context.h"

#include <ctime>
#include <memory>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509err.h>

#include "submix/base/file_system.h"

namespace submix::server {
namespace {

using base::InvalidArgumentError;
using base::Status;

// A server starts without anybody to type; OpenSSL would ask the terminal.
int RefusePassword(char* /*buffer*/, int /*size*/, int /*writes*/, void* was_asked) {
  *static_cast<bool*>(was_asked) = true;
  return -1;
}

Status LoadKey(SSL_CTX& context, const std::string& certificate, const std::string& key) {
  bool was_asked = false;
  SSL_CTX_set_default_passwd_cb(&context, RefusePassword);
  SSL_CTX_set_default_passwd_cb_userdata(&context, &was_asked);
  const bool loaded = SSL_CTX_use_PrivateKey_file(&context, key.c_str(), SSL_FILETYPE_PEM) == 1;
  const unsigned long error = ERR_peek_last_error();
  ERR_clear_error();
  SSL_CTX_set_default_passwd_cb_userdata(&context, nullptr);
  if (was_asked) {
    return InvalidArgumentError(
        key + ": the key is under a password; `openssl pkey -in FILE -out FILE` takes it off");
  }
  // A key of another kind is taken, but has no certificate then.
  const bool is_others = loaded ? SSL_CTX_check_private_key(&context) != 1
                                : ERR_GET_LIB(error) == ERR_LIB_X509 &&
                                      ERR_GET_REASON(error) == X509_R_KEY_VALUES_MISMATCH;
  ERR_clear_error();
  if (is_others) {
    return InvalidArgumentError(key + ": this key is not that of the certificate " + certificate);
  }
  if (!loaded) return InvalidArgumentError(key + ": not a private key in PEM form");
  return base::OkStatus();
}

}  // namespace

Status LoadTlsFiles(SSL_CTX& context, const std::string& certificate,
                    const std::string& private_key) {
  for (const std::string& file : {certificate, private_key}) {
    SUBMIX_RETURN_IF_ERROR(base::ReadFile(file).status());
  }
  SSL_CTX_set_min_proto_version(&context, TLS1_2_VERSION);
  SSL_CTX_set_options(&context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
  ERR_clear_error();
  if (SSL_CTX_use_certificate_chain_file(&context, certificate.c_str()) != 1) {
    ERR_clear_error();
    return InvalidArgumentError(certificate + ": not a certificate in PEM form");
  }
  return LoadKey(context, certificate, private_key);
}

base::StatusOr<std::int64_t> CheckTlsFiles(const std::string& certificate,
                                           const std::string& private_key) {
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_server_method()),
                                                                  SSL_CTX_free);
  if (context == nullptr) return base::InternalError("OpenSSL has no memory for a context");
  SUBMIX_RETURN_IF_ERROR(LoadTlsFiles(*context, certificate, private_key));
  std::tm end{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(SSL_CTX_get0_certificate(context.get())), &end) != 1) {
    return InvalidArgumentError(certificate + ": the end of its validity cannot be read");
  }
  return ::timegm(&end);
}

}  // namespace submix::server
