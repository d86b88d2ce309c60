// Composes the one-line error messages of Kiln.

#include "kiln/support/status.h"
#include "kiln/support/excerpt.h"

namespace kiln {
namespace {

// Replaces control characters by spaces. File and node names come from outside and could otherwise
// split a message over lines or send escape sequences to a terminal.
std::string OneLine(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20 || code == 0x7f) c = ' ';
  }
  return out;
}

// The most bytes of a message. Callers cut what they quote from files (excerpt.h); this limit holds
// for the messages that consist of many parts or that a caller left uncut.
constexpr size_t kMessageBytes = 1960;

// Returns "file: place: fault; remedy" without the parts that are empty, cut to kMessageBytes.
std::string Compose(std::string_view file, std::string_view place, std::string_view fault,
                    std::string_view remedy) {
  std::string out;
  for (std::string_view part : {file, place}) {
    if (part.empty()) continue;
    out += OneLine(part);
    out += ": ";
  }
  out += OneLine(fault);
  if (!remedy.empty()) {
    out += "; ";
    out += OneLine(remedy);
  }
  return Excerpt(out, kMessageBytes);
}

}  // namespace

Status ErrorAt(std::string_view file, std::string_view place, std::string_view fault,
               std::string_view remedy) {
  return absl::InvalidArgumentError(Compose(file, place, fault, remedy));
}

Status UnsupportedAt(std::string_view file, std::string_view place, std::string_view fault,
                     std::string_view remedy) {
  return absl::UnimplementedError(Compose(file, place, fault, remedy));
}

Status NotFoundAt(std::string_view file, std::string_view place, std::string_view fault,
                  std::string_view remedy) {
  return absl::NotFoundError(Compose(file, place, fault, remedy));
}

Status WithContext(std::string_view context, const Status& status) {
  if (status.ok()) return status;
  return Status(status.code(), Compose(context, "", MessageOf(status), ""));
}

std::string MessageOf(const Status& status) {
  return std::string(status.message().data(), status.message().size());
}

}  // namespace kiln
