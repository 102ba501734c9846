#include <fstream>
#include <iostream>

#include "docs/docs.hpp"

// rlock-docs DIRECTORY: writes DIRECTORY/man/rlock.1 and DIRECTORY/completions/*, whose folders are there.
int main(int argc, char** argv) {
  using namespace rlock::docs;
  if (argc != 2) {
    std::cerr << "usage: rlock-docs DIRECTORY\n";
    return 64;
  }
  const std::string directory = argv[1];
  for (const auto& [name, text] :
       {std::pair("/man/rlock.1", man_page()), std::pair("/completions/rlock.bash", bash_completion()),
        std::pair("/completions/_rlock", zsh_completion()), std::pair("/completions/rlock.fish", fish_completion())}) {
    std::ofstream file(directory + name);
    if (!(file << text) || !file.flush()) {
      std::cerr << "rlock-docs: cannot write " << directory << name << "\n";
      return 70;
    }
  }
  return 0;
}
