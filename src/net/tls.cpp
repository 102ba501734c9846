#include "net/tls.hpp"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

// Takes the place of dlopen in a static binary (CMakeLists.txt): a module that OpenSSL finds on the machine, an engine
// or a provider, would bring its own libc.
extern "C" void* rlock_no_module(const char*, int) { return nullptr; }

// Where the program lies is of use to dlopen alone; a static glibc asks for it at each start. -1: not known.
// NOLINTNEXTLINE(performance-no-int-to-ptr): glibc's own way to say so
extern "C" const char* rlock_no_origin() { return reinterpret_cast<const char*>(-1); }

// In a static binary (CMakeLists.txt) OpenSSL asks the processor what it can do when TLS is used, not when the program
// starts: each question is a trap in a virtual machine. Had it not asked, it would only be slower.
#ifdef RLOCK_LATE_CPUID
extern "C" void __real_OPENSSL_cpuid_setup();    // NOLINT(bugprone-reserved-identifier)
extern "C" void __wrap_OPENSSL_cpuid_setup() {}  // NOLINT(bugprone-reserved-identifier)
#else
static void __real_OPENSSL_cpuid_setup() {}  // NOLINT(bugprone-reserved-identifier)
#endif

namespace rlock::net {
namespace {

// Of TLS 1.2: forward secrecy and authenticated encryption alone, which all of TLS 1.3 has.
constexpr const char* ciphers = "ECDHE+AESGCM:ECDHE+CHACHA20";

using base::ErrorCode;
using base::fail;
using base::Result;

// Where distributions keep the certificates that they trust: what a static OpenSSL was built to look at is one of
// these.
constexpr std::array bundles{"/etc/ssl/certs/ca-certificates.crt",                 // Debian, Alpine, Arch
                             "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // Fedora, RHEL
                             "/etc/pki/tls/certs/ca-bundle.crt",                   // their older ones
                             "/etc/ssl/ca-bundle.pem",                             // SUSE
                             "/etc/ssl/cert.pem"};                                 // BSD style, Alpine

template <auto release>
struct Release {
  void operator()(auto* object) const { release(object); }
};
using Context = std::unique_ptr<SSL_CTX, Release<::SSL_CTX_free>>;
using Ssl = std::unique_ptr<SSL, Release<::SSL_free>>;

// What OpenSSL says of the newest of its errors, or of one of the system below it, and forgets them all.
std::string reason() {
  std::string result = "unknown error of OpenSSL";
  while (const auto code = ::ERR_get_error()) {
    if (ERR_SYSTEM_ERROR(code)) {
      result = std::strerror(ERR_GET_REASON(code));
      break;
    }
    if (const char* text = ::ERR_reason_error_string(code)) result = text;
  }
  ::ERR_clear_error();
  return result;
}

bool is_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> address{};
  return ::inet_pton(AF_INET, host.c_str(), address.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), address.data()) == 1;
}

Result<void> trust(SSL_CTX* context, const std::string& cacert) {
  if (!cacert.empty()) {
    if (::SSL_CTX_load_verify_locations(context, cacert.c_str(), nullptr) == 1) return {};
    return fail(ErrorCode::configuration, "--server: ?cacert=: cannot use " + cacert + ": " + reason());
  }
  // SSL_CERT_FILE and SSL_CERT_DIR of the environment are heeded here.
  ::SSL_CTX_set_default_verify_paths(context);
  if (std::getenv("SSL_CERT_FILE") == nullptr && std::getenv("SSL_CERT_DIR") == nullptr) {
    for (const char* bundle : bundles) {
      if (::access(bundle, R_OK) == 0 && ::SSL_CTX_load_verify_locations(context, bundle, nullptr) == 1) break;
    }
  }
  ::ERR_clear_error();
  return {};
}

Result<void> show(SSL_CTX* context, const TlsSettings& settings) {
  if (settings.cert.empty()) return {};
  if (::SSL_CTX_use_certificate_chain_file(context, settings.cert.c_str()) != 1) {
    return fail(ErrorCode::configuration, "--server: ?cert=: cannot use " + settings.cert + ": " + reason());
  }
  // A key that wants a passphrase cannot be used: a lock must not ask questions.
  ::SSL_CTX_set_default_passwd_cb(context, [](char*, int, int, void*) { return 0; });
  if (::SSL_CTX_use_PrivateKey_file(context, settings.key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      ::SSL_CTX_check_private_key(context) != 1) {
    return fail(ErrorCode::configuration, "--server: ?key=: cannot use the file: " + reason());
  }
  return {};
}

Result<Context> make_context(const TlsSettings& settings) {
  // Not the machine's openssl.cnf: it was written for another OpenSSL than the one inside this binary.
  __real_OPENSSL_cpuid_setup();
  ::OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
  Context context(::SSL_CTX_new(::TLS_client_method()));
  if (!context) return fail(ErrorCode::internal, "TLS: " + reason());
  ::SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  if (::SSL_CTX_set_cipher_list(context.get(), ciphers) != 1) return fail(ErrorCode::internal, "TLS: " + reason());
  ::SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  ::SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  if (auto trusted = trust(context.get(), settings.cacert); !trusted) return std::unexpected(trusted.error());
  if (auto shown = show(context.get(), settings); !shown) return std::unexpected(shown.error());
  return context;
}

// The certificate has to name this host. OpenSSL checks no name unless it is told to.
bool expect_peer(SSL* ssl, const std::string& host) {
  if (is_address(host)) return ::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(ssl), host.c_str()) == 1;
  // The subject's common name counts for nothing, as in browsers, Go and Python.
  ::SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  return ::SSL_set1_host(ssl, host.c_str()) == 1 &&
         ::SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, const_cast<char*>(host.c_str())) == 1;
}

class TlsStream final : public Stream {
 public:
  TlsStream(base::Fd fd, std::string host, const Schemes& schemes, Context context, Ssl ssl)
      : fd_(std::move(fd)),
        host_(std::move(host)),
        schemes_(schemes),
        context_(std::move(context)),
        ssl_(std::move(ssl)) {}
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  // Without this message the server could not tell our end from a cut connection, and would log an error. If it cannot
  // be written at once, it is left out. After a failure OpenSSL does not allow it, and during a handshake there is
  // none.
  ~TlsStream() override {
    if (is_usable_ && ::SSL_is_init_finished(ssl_.get()) == 1) ::SSL_shutdown(ssl_.get());
    ::ERR_clear_error();
  }

  Result<short> handshake() override {
    ::ERR_clear_error();
    errno = 0;
    const int done = ::SSL_connect(ssl_.get());
    if (done == 1) return 0;
    if (const auto wants = wanted(done); wants != 0) return wants;
    const auto verdict = ::SSL_get_verify_result(ssl_.get());
    if (verdict != X509_V_OK) {
      ::ERR_clear_error();
      return fail(ErrorCode::refused, "TLS: the certificate of the server is not accepted: " + reason_of(verdict));
    }
    return broken(done, ErrorCode::refused);
  }

  Result<Transfer> read(std::span<char> into) override {
    ::ERR_clear_error();
    errno = 0;
    return moved(::SSL_read(ssl_.get(), into.data(), static_cast<int>(into.size())));
  }

  Result<Transfer> write(std::span<const char> bytes) override {
    ::ERR_clear_error();
    errno = 0;
    return moved(::SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size())));
  }

  // A record may have been decrypted in part; a whole one that was received is looked for by the next read.
  bool has_buffered() const override { return ::SSL_has_pending(ssl_.get()) == 1 && ::SSL_pending(ssl_.get()) > 0; }
  int fd() const override { return fd_.get(); }
  std::string advice() const override {
    if (::SSL_is_init_finished(ssl_.get()) == 1) return "";
    return "; if that is a port without TLS, write " + std::string(schemes_.plain) + ":// for " +
           std::string(schemes_.tls) + ":// in the URL";
  }

 private:
  std::string reason_of(long verdict) const {
    switch (verdict) {
      case X509_V_ERR_HOSTNAME_MISMATCH:
      case X509_V_ERR_IP_ADDRESS_MISMATCH:
        return "it does not name " + host_ + " (in its subjectAltName)";
      case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
      case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
      case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
        return std::string(::X509_verify_cert_error_string(verdict)) + "; ?cacert= names the authorities to trust";
      default:
        return ::X509_verify_cert_error_string(verdict);
    }
  }

  // TLS may have to write before it can read, and the reverse.
  short wanted(int result) const {
    switch (::SSL_get_error(ssl_.get(), result)) {
      case SSL_ERROR_WANT_READ:
        return POLLIN;
      case SSL_ERROR_WANT_WRITE:
        return POLLOUT;
      default:
        return 0;
    }
  }

  Result<Transfer> moved(int result) {
    if (result > 0) return Transfer{static_cast<std::size_t>(result), 0};
    if (const auto wants = wanted(result); wants != 0) return Transfer{0, wants};
    return broken(result, ErrorCode::unreachable);
  }

  // protocol_error: what it is where TLS itself fails.
  std::unexpected<base::Error> broken(int result, ErrorCode protocol_error) {
    is_usable_ = false;
    const int kind = ::SSL_get_error(ssl_.get(), result);
    const auto code = ::ERR_peek_last_error();
    if (kind == SSL_ERROR_ZERO_RETURN || ERR_GET_REASON(code) == SSL_R_UNEXPECTED_EOF_WHILE_READING ||
        (kind == SSL_ERROR_SYSCALL && code == 0 && errno == 0)) {
      ::ERR_clear_error();
      return fail(ErrorCode::unreachable, "the server closed the connection");
    }
    if (kind == SSL_ERROR_SYSCALL) return base::fail_errno(ErrorCode::unreachable, "the connection broke");
    // Under TLS 1.3 the peer refuses our certificate, or the lack of one, only when the handshake is over for us.
    if (ERR_GET_LIB(code) == ERR_LIB_SSL && ERR_GET_REASON(code) >= SSL_AD_REASON_OFFSET) {
      protocol_error = ErrorCode::refused;
    }
    switch (ERR_GET_REASON(code)) {
      case SSL_R_WRONG_VERSION_NUMBER:
        ::ERR_clear_error();
        return fail(protocol_error, "TLS: the server does not speak TLS on this port");
      case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
      case SSL_R_UNSUPPORTED_PROTOCOL:
        ::ERR_clear_error();
        return fail(protocol_error, "TLS: the server does not speak TLS 1.2 or later");
      case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
        ::ERR_clear_error();
        return fail(protocol_error,
                    "TLS: the server refused the handshake: it needs TLS 1.3, or TLS 1.2 with ECDHE and AES-GCM or "
                    "ChaCha20, and may ask for a certificate (?cert=FILE&key=FILE in the URL)");
      case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
        ::ERR_clear_error();
        return fail(
            protocol_error,
            "TLS: the server does not accept our certificate, or wants one; name one with ?cert=FILE&key=FILE in "
            "the URL");
      case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
        ::ERR_clear_error();
        return fail(protocol_error,
                    "TLS: the server asks for a certificate; name one with ?cert=FILE&key=FILE in the URL");
      case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
        ::ERR_clear_error();
        return fail(protocol_error,
                    "TLS: the server does not know the authority that signed the certificate of ?cert=");
      default:
        return fail(protocol_error, "TLS: " + reason());
    }
  }

  base::Fd fd_;
  std::string host_;
  Schemes schemes_;
  Context context_;
  Ssl ssl_;
  bool is_usable_ = true;
};

}  // namespace

std::string openssl_version() { return ::OpenSSL_version(OPENSSL_VERSION_STRING); }

Result<std::unique_ptr<Stream>> tls_stream(base::Fd fd, const std::string& host, const TlsSettings& settings,
                                           const Schemes& schemes) {
  auto context = make_context(settings);
  if (!context) return std::unexpected(context.error());
  Ssl ssl(::SSL_new(context->get()));
  if (!ssl || ::SSL_set_fd(ssl.get(), fd.get()) != 1 || !expect_peer(ssl.get(), host)) {
    return fail(ErrorCode::internal, "TLS: " + reason());
  }
  return std::make_unique<TlsStream>(std::move(fd), host, schemes, std::move(*context), std::move(ssl));
}

}  // namespace rlock::net
