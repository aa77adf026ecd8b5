#include "submix/server/listening_socket.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace submix::server {
namespace {

using base::Status;

constexpr int kBacklog = 4'096;  // the system's own limit is often lower

std::string WhyNotBound(int error) {
  switch (error) {
    case EADDRNOTAVAIL:
      return "this machine has no such address";
    case EADDRINUSE:
      return "another program listens there; choose another port";
    case EACCES:
      return "not allowed; ports below 1024 are root's, or a proxy's";
    default:
      return std::strerror(error);
  }
}

// Binds and listens, or closes the socket and leaves the reason in errno.
base::StatusOr<ListeningSocket> Listen(const sockaddr* address, socklen_t size,
                                       const std::string& name) {
  ListeningSocket socket;
  socket.family = address->sa_family;
  socket.descriptor = ::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int on = 1;
  ::setsockopt(socket.descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (socket.descriptor >= 0 && ::bind(socket.descriptor, address, size) == 0 &&
      ::listen(socket.descriptor, kBacklog) == 0) {
    return socket;
  }
  const int error = errno;
  if (socket.descriptor >= 0) ::close(socket.descriptor);
  return base::UnavailableError("cannot listen on " + name + ": " + WhyNotBound(error));
}

int PortOf(int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size);
  const auto* const ip = reinterpret_cast<const sockaddr_in*>(&address);
  static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
  return ntohs(ip->sin_port);
}

base::StatusOr<ListeningSocket> ListenOnPort(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string name = port == 0 ? host : host + ":" + std::to_string(port);
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) {
    return base::UnavailableError("cannot listen on " + name + ": " + WhyNotBound(EADDRNOTAVAIL));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, ::freeaddrinfo);
  base::StatusOr<ListeningSocket> socket = base::UnavailableError("cannot listen on " + name);
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    socket = Listen(each->ai_addr, each->ai_addrlen, name);
    if (!socket.ok()) continue;
    socket->port = PortOf(socket->descriptor);
    break;
  }
  return socket;
}

Status CheckLength(const std::string& path) {
  if (path.size() < sizeof sockaddr_un::sun_path) return base::OkStatus();
  return base::UnavailableError("cannot listen on " + path + ": " + std::strerror(ENAMETOOLONG));
}

base::StatusOr<ListeningSocket> ListenOnPath(const std::string& path) {
  SUBMIX_RETURN_IF_ERROR(CheckLength(path));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, path.size());
  if (std::filesystem::is_socket(path)) ::unlink(path.c_str());
  const mode_t mask = ::umask(0177);
  auto socket = Listen(reinterpret_cast<const sockaddr*>(&address), sizeof address, path);
  ::umask(mask);
  return socket;
}

}  // namespace

base::StatusOr<ListeningSocket> OpenListeningSocket(const ListenerOptions& options) {
  if (!options.unix_socket.empty()) return ListenOnPath(options.unix_socket);
  return ListenOnPort(options.host, options.port);
}

Status CheckListeningAddress(const ListenerOptions& options) {
  if (!options.unix_socket.empty()) return CheckLength(options.unix_socket);
  SUBMIX_ASSIGN_OR_RETURN(const ListeningSocket socket, ListenOnPort(options.host, 0));
  ::close(socket.descriptor);
  return base::OkStatus();
}

}  // namespace submix::server
