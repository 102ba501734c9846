import java.util.Arrays;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

/** What `rlock run KEY COMMAND...` is in Java with Curator's InterProcessMutex: HOST:PORT,... KEY COMMAND [ARG...]. */
public class Lock {
  public static void main(String[] words) throws Exception {
    int status;
    try (var client = CuratorFrameworkFactory.newClient(words[0], new ExponentialBackoffRetry(100, 10))) {
      client.start();
      var mutex = new InterProcessMutex(client, "/curator/" + words[1]);
      mutex.acquire();
      try {
        status = new ProcessBuilder(Arrays.asList(words).subList(2, words.length)).inheritIO().start().waitFor();
      } finally {
        mutex.release();
      }
    }
    System.exit(status);
  }
}
