package harbour;

/** A dock. */
public class Dock {
    private int size = 3;

    // How many boats lie there.
    public int boats(String name, int most) throws IOException {
        if (size > most) {
            return new Counter(most).value();
        }
        return size;
    }
}
