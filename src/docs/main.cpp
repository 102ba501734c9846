#include <fstream>
#include <iostream>
#include <iterator>

#include "docs/docs.hpp"
#include "docs/mdoc.hpp"

namespace {

using namespace rlock::docs;

constexpr std::size_t page_width = 69;  // columns of an example on a page of 80

/// Writes the text of src/docs/NAME.in, its parts filled in, to DIRECTORY/FOLDER/NAME. Whether it could; if not, says
/// why.
struct Writer {
  std::string source;
  std::string directory;

  bool write(const std::string& folder, const std::string& name, Parts parts) const {
    const auto from = "src/docs/" + name + ".in";
    const auto text = read(from);
    parts["note"] = "Written by rlock-docs from " + from + " and the tables in src/cli/rows. Do not edit.";
    const auto filled = fill(text, parts);
    if (!filled) return failed(from + " has @" + filled.error() + "@, which is not a part");
    return !text.empty() && save(folder + "/" + name, *filled);
  }

  /// Empty if it cannot be read, or is.
  std::string read(const std::string& name) const {
    std::ifstream in(source + "/" + name);
    std::string text{std::istreambuf_iterator<char>(in), {}};
    if (text.empty()) failed("cannot read " + source + "/" + name);
    return text;
  }

  bool save(const std::string& name, const std::string& text) const {
    std::ofstream file(directory + "/" + name);
    if (!(file << text) || !file.flush()) return failed("cannot write " + directory + "/" + name);
    return true;
  }

  static bool failed(const std::string& what) {
    std::cerr << "rlock-docs: " << what << "\n";
    return false;
  }
};

}  // namespace

// rlock-docs SOURCE DIRECTORY: from SOURCE/src/docs/*.in writes DIRECTORY/man/* and DIRECTORY/completions/*, whose
// folders are there.
int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: rlock-docs SOURCE DIRECTORY\n";
    return 64;
  }
  const Writer writer{argv[1], argv[2]};
  auto manual = manual_parts();
  manual["acl"] = verbatim("ACL SETUSER rlock on >PASSWORD " + writer.read("tests/acl.conf").substr(3), page_width);
  manual["example_file"] = verbatim(writer.read("packaging/examples/rlock.conf"), page_width);
  const bool is_written = writer.write("man", "rlock.1", manual) && writer.write("man", "rlock.conf.5", manual) &&
                          writer.write("completions", "rlock.bash", bash_parts()) &&
                          writer.write("completions", "_rlock", zsh_parts()) &&
                          writer.write("completions", "rlock.fish", fish_parts());
  return is_written ? 0 : 70;
}
