// client rslock try|hold NAME: see client.py.
use std::io::Read;
use std::time::Duration;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let words: Vec<String> = std::env::args().collect();
    let mut manager = rslock::LockManager::new(vec![format!("unix://{}", std::env::var("sock").unwrap())]);
    manager.set_retry(if words[2] == "hold" { 3000 } else { 1 }, Duration::from_millis(50));
    let Ok(lock) = manager.lock(words[3].as_bytes(), Duration::from_secs(30)).await else { std::process::exit(75) };
    println!("held");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    manager.unlock(&lock).await;
}
