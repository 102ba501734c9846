#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

// Stands in for libFuzzer where there is only g++: no coverage guides it, but it needs nothing.
class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {}

  std::string one_of(const std::vector<std::string>& corpus) {
    auto text = corpus[below(corpus.size())];
    for (auto edits = 1 + below(8); edits > 0; --edits) edit(text, corpus);
    return text;
  }

 private:
  std::size_t below(std::size_t end) { return std::uniform_int_distribution<std::size_t>(0, end - 1)(random_); }

  void edit(std::string& text, const std::vector<std::string>& corpus) {
    const auto at = below(text.size() + 1);
    const auto& other = corpus[below(corpus.size())];
    switch (below(4)) {
      case 0:
        text.insert(at, 1, static_cast<char>(below(256)));
        break;
      case 1:
        text.erase(at, 1 + below(4));
        break;
      case 2:
        if (at < text.size()) text[at] = static_cast<char>(below(256));
        break;
      default:
        text.insert(at, other, below(other.size() + 1), 1 + below(16));
    }
  }

  std::mt19937 random_;
};

}  // namespace

// replay N SEED FILE...: each file, then N of them with some bytes changed.
int main(int argc, char** argv) {
  if (argc < 4) return 64;
  std::vector<std::string> corpus;
  for (int i = 3; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  const auto run = [](const std::string& text) {
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  };
  for (const auto& text : corpus) run(text);
  Mutator mutator(static_cast<unsigned>(std::atol(argv[2])));
  for (long left = std::atol(argv[1]); left > 0; --left) run(mutator.one_of(corpus));
  std::printf("%zu files, %s changed\n", corpus.size(), argv[1]);
  return 0;
}
