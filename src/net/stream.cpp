#include "net/stream.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace rlock::net {
namespace {

using base::ErrorCode;

class PlainStream final : public Stream {
 public:
  PlainStream(base::Fd fd, const Schemes& schemes) : fd_(std::move(fd)), schemes_(schemes) {}

  base::Result<short> handshake() override { return 0; }

  base::Result<Transfer> read(std::span<char> into) override {
    const auto n = ::recv(fd_.get(), into.data(), into.size(), 0);
    if (n == 0) return base::fail(ErrorCode::unreachable, "the server closed the connection");
    return moved(n, POLLIN);
  }

  base::Result<Transfer> write(std::span<const char> bytes) override {
    return moved(::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), POLLOUT);
  }

  bool has_buffered() const override { return false; }
  int fd() const override { return fd_.get(); }
  std::string advice() const override {
    int family = AF_UNIX;
    socklen_t size = sizeof family;
    ::getsockopt(fd_.get(), SOL_SOCKET, SO_DOMAIN, &family, &size);
    if (family == AF_UNIX) return "";
    return "; if that is a TLS port, write " + std::string(schemes_.tls) + ":// for " + std::string(schemes_.plain) +
           ":// in the URL";
  }

 private:
  static base::Result<Transfer> moved(ssize_t n, short wants) {
    if (n >= 0) return Transfer{static_cast<std::size_t>(n), 0};
    if (errno == EAGAIN || errno == EINTR) return Transfer{0, wants};
    return base::fail_errno(ErrorCode::unreachable, "the connection broke");
  }

  base::Fd fd_;
  Schemes schemes_;
};

}  // namespace

std::unique_ptr<Stream> plain_stream(base::Fd fd, const Schemes& schemes) {
  return std::make_unique<PlainStream>(std::move(fd), schemes);
}

}  // namespace rlock::net
